"""GGUF files as chat models: any file that llama.cpp can run, in this process, without a server. Needs extra `gguf`."""
