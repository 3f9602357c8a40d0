"""Everybody who can act: policies, latents, scripts, chance, functions; and the policies that come with the package."""
