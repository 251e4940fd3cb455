from zero_memory.runtime.stream import index_changes

handler = index_changes
