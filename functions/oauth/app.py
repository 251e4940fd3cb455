from zero_memory.runtime.entry import oauth_handler

handler = oauth_handler()
