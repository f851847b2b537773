package layout

// WorkerTypes is the set, in a context's space, of the script types that workers of
// the context have asked for: its jobs may have them though no node serves them.
const WorkerTypes = "ramet:workertypes"

// RegisteredTypes is the set of those that somebody who may submit there has registered. It has
// room of its own: whoever may only claim neither fills it, nor has anything in it taken back.
const RegisteredTypes = "ramet:registeredtypes"
