package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"os"
	"strings"

	"github.com/ramet-run/ramet/api"
)

// This file has what a node says of what it stands on: certificates, sizes, and settings of
// servers that are not as they should be.

// certificateParameters are those of URLs that name files with certificates of this node.
// Those of authorities run out after decades, and are read by others, too.
var certificateParameters = []string{"tls_cert", "cert", "sslcert"}

// certificates are those by which the node is known, read as they lie on the disk now.
func (p *parts) certificates() (list []api.Certificate) {
	if p.options.tlsCert != "" {
		list = append(list, certificate("the doors", p.options.tlsCert))
	}
	for _, at := range []struct {
		of   string
		urls []string
	}{{"the board", []string{p.options.boardURL}}, {"the archive", []string{p.options.archiveURL}}, {"the event streams", []string{p.options.streamURL}},
		{"a bus", p.options.buses}} {
		for _, text := range at.urls {
			_, query, _ := strings.Cut(text, "?")
			values, _ := url.ParseQuery(query) // who opens it says what is wrong
			for _, name := range certificateParameters {
				if file := values.Get(name); file != "" {
					list = append(list, certificate(at.of, file))
				}
			}
		}
	}
	return list
}

// certificate reads the first one of a file, which is the node's own.
func certificate(of, file string) api.Certificate {
	c := api.Certificate{Of: of, File: file}
	text, err := os.ReadFile(file)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	block, _ := pem.Decode(text)
	if block == nil {
		c.Error = "it has no PEM block"
		return c
	}
	found, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.FromMs, c.UntilMs = found.NotBefore.UnixMilli(), found.NotAfter.UnixMilli()
	return c
}

// settings are sentences about servers that are set in a way that costs something.
func (p *parts) settings(ctx context.Context) (list []api.Setting, err error) {
	for _, of := range []struct {
		name  string
		store any
	}{{"board", p.store}, {"archive", p.bareArchive}, {"streams", p.streams}} {
		asked, can := of.store.(interface {
			Settings(ctx context.Context) ([]string, error)
		})
		if !can {
			continue
		}
		texts, trouble := asked.Settings(ctx)
		err = cmp.Or(err, trouble)
		for _, text := range texts {
			list = append(list, api.Setting{Of: of.name, Text: text})
		}
	}
	return list, err
}

// sizes are what is kept, as the metrics say it.
func (p *parts) sizes() (list []api.Size) {
	is := p.node.Standing()
	add := func(of string, bytes int64, items int64) {
		if bytes >= 0 {
			list = append(list, api.Size{Of: of, Bytes: bytes, Items: items})
		}
	}
	add("board", is.BoardBytes, 0)
	add("archive", is.ArchiveBytes, is.ArchiveRecords)
	if len(is.Streams) > 0 {
		var bytes, messages int64
		for _, s := range is.Streams {
			bytes += int64(s.Bytes)
			messages += int64(s.Messages)
		}
		add("streams", bytes, messages)
	}
	add("artifacts", is.ArtifactBytes, 0)
	return list
}
