package client

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/ramet-run/ramet/identity/cookie"
)

// prover gives what a request is sent with to prove who asks.
type prover interface {
	// header is the value of Authorization, or "" for none.
	header(ctx context.Context) (string, error)
	// renewed reports whether header gives another value after a refusal.
	renewed(refused string) bool
}

// tokens proves by tokens, which whoever makes them keeps fresh.
type tokens func(ctx context.Context) (string, error)

func (t tokens) header(ctx context.Context) (string, error) {
	if t == nil {
		return "", nil
	}
	token, err := t(ctx)
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	if token == "" {
		return "", nil
	}
	return "Bearer " + token, nil
}

func (tokens) renewed(string) bool { return false }

// cookieJar proves by the cookie of the node's data folder. Each start of the
// node makes another, so a refused one is read anew.
type cookieJar struct {
	file string

	mu   sync.Mutex
	kept string // the header; "" before it was read
}

func (j *cookieJar) header(context.Context) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.read()
	return j.kept, err
}

// read fills kept where it is empty; mu is held.
func (j *cookieJar) read() error {
	if j.kept != "" {
		return nil
	}
	c, err := cookie.Load(j.file)
	if err == nil {
		j.kept = cookie.Scheme + " " + c.Text()
	}
	return err
}

func (j *cookieJar) renewed(refused string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.kept == refused {
		j.kept = ""
	}
	return j.read() == nil && j.kept != refused
}

// proverOf is what cfg says of who asks.
func proverOf(cfg Config) prover {
	if cfg.Socket == "" || cfg.Token != nil {
		return tokens(cfg.Token)
	}
	file := cfg.Cookie
	if file == "" {
		file = filepath.Join(filepath.Dir(cfg.Socket), cookie.File)
	}
	return &cookieJar{file: file}
}

// proven sends a request with a proof of who asks; once more if the proof was
// refused and there is another by now.
func (c *Client) proven(ctx context.Context, changes bool, make func() (*http.Request, error)) (*http.Response, error) {
	for again := true; ; again = false {
		req, err := make()
		if err != nil {
			return nil, err
		}
		proof, err := c.prover.header(ctx)
		if err != nil {
			return nil, err
		}
		if proof != "" {
			req.Header.Set("Authorization", proof)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, c.unreachable(ctx, changes, err)
		}
		if resp.StatusCode != http.StatusUnauthorized || !again || !c.prover.renewed(proof) {
			return resp, nil
		}
		resp.Body.Close()
	}
}
