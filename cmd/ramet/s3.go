//go:build !no_s3

package main

import (
	"net/url"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/s3store"
)

// openS3 opens a store of artifacts that speaks the protocol of S3.
func openS3(u *url.URL) (artifact.Store, error) {
	s, err := s3store.Open(u)
	if err != nil {
		return nil, err // not s: a nil *Store is no nil artifact.Store
	}
	return s, nil
}
