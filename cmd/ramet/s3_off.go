//go:build no_s3

package main

import (
	"net/url"

	"github.com/ramet-run/ramet/artifact"
)

func init() { without = append(without, "s3") }

func openS3(*url.URL) (artifact.Store, error) {
	return nil, leftOut("artifacts on S3", "no_s3")
}
