"""The OpenAI-compatible server: a chat model with the loop around it, and a page to watch runs. Extra `server`."""
