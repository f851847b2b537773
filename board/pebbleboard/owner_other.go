//go:build !unix

package pebbleboard

// ownerFile does nothing here: the store's own lock keeps a second process out.
type ownerFile struct{}

func own(string) (*ownerFile, error) { return nil, nil }

func (o *ownerFile) release() {}
