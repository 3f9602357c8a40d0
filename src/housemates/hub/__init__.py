"""Share runs, agents and rows: on the Hugging Face Hub, or in a folder that several people see."""
