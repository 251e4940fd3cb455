from zero_memory.runtime.schedule import tick

handler = tick
