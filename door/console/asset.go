package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	nethttp "net/http"
	"path"
	"strings"
	"sync"
)

// This file has the one style sheet and the one script of all pages, which are the files of
// styles/ and scripts/ one after the other, in the order of the alphabet.

//go:embed styles/*.css scripts/*.js icon.svg
var files embed.FS

var (
	styleSheet = joined("styles", ".css")
	script     = joined("scripts", ".js")
	// assetPath is where both are. It has their hash, so that browsers may keep them for
	// ever, and get others with another version.
	assetPath = Path + "assets/" + hashOf(styleSheet, script) + "/"
)

// joined is the text of all files of a folder.
func joined(folder, ext string) []byte {
	var all bytes.Buffer
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ext {
			continue
		}
		text, err := fs.ReadFile(files, folder+"/"+e.Name())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		all.Write(text)
		all.WriteByte('\n')
	}
	return all.Bytes()
}

func hashOf(texts ...[]byte) string {
	sum := sha256.New()
	for _, t := range texts {
		sum.Write(t)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// mountAssets serves the style sheet and the script, to everybody.
func (c *Console) mountAssets() {
	c.asset("console.css", "text/css; charset=utf-8", styleSheet)
	c.asset("console.js", "text/javascript; charset=utf-8", script)
	icon, err := files.ReadFile("icon.svg")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c.asset("icon.svg", "image/svg+xml", icon)
}

func (c *Console) asset(name, media string, text []byte) {
	packed := sync.OnceValue(func() []byte { return compressed(text) })
	c.mux.HandleFunc("GET "+assetPath+name, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		h := w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed())
			return
		}
		_, _ = w.Write(text) // the browser may be gone; nothing is to be done about it
	})
}

func compressed(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that there is
	_, _ = z.Write(text)                                  // into memory
	_ = z.Close()
	return b.Bytes()
}
