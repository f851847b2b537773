// Package secret has the secrets of contexts: texts such as passwords that jobs name and
// find in variables while they run, and that stand on no record.
//
// # Where they come from
//
//	sealed        `ramet secret set` has put it on the board, encrypted
//	environment   RAMET_SECRET_<context>_<NAME> of the node
//	file          <dir>/<context>/<NAME>, where the config file names a dir
//	command       what it prints, where the config file names one
//
// The first that has one of the name counts. What lies on the board is the same for all
// nodes and is what the context's own admins set, so it goes before what a node happens to
// have. One that is there and cannot be opened is an error, never the next source's turn.
//
// # How they lie on the board
//
// Each is sealed with XChaCha20-Poly1305, bound to its context and name, so that whoever may
// write to the store cannot have another context's secret read, or one under another name.
// The key is a secret of the operator's, by its name in the nodes' config files, or that of
// a board that one node has for itself, a file in its data folder. Boards that nodes share
// have no key by themselves: who may write to the store could add one of a node's of their
// own. See docs/decisions/0050.
//
// Nobody reads a secret back: this package gives values to package work alone.
package secret
