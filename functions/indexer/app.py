from zero_memory.runtime.stream import index_stream

handler = index_stream
