"""Agents: policies, latents, scripts, random actions, functions; and the policies that come with the package."""
