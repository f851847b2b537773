// Package cookie has the proof by which a node's own machine speaks to it: a secret that
// the node writes into its data folder at each start. It stands by itself, so that
// clients need nothing else of package identity.
package cookie
