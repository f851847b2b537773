//go:build no_etcd || no_grpc || no_nats || no_otlp || no_postgres || no_s3

package main

import "github.com/ramet-run/ramet/domain"

// leftOut is the error of what takes a part that this program does not have.
//
// It is a [domain.ErrInvalid].
func leftOut(what, tag string) error {
	return domain.Invalidf("%s: this ramet was built without it, to be small; take a full one, or build one without the tag %s (`make build`)", what, tag)
}
