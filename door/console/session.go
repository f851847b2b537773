package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

const (
	// sessionLife is how long a session lasts whose token does not end it before.
	sessionLife = 12 * time.Hour
	// linkLife is how long a one-time link is good.
	linkLife = 2 * time.Minute
	// sessionsOfOne bounds the sessions of one actor: a further one ends the one that was
	// used longest ago. sessionsMost bounds those of all, and the links that wait.
	sessionsOfOne = 20
	sessionsMost  = 10_000
	// maxAgent bounds what is kept of the name that a browser has for itself, in bytes.
	maxAgent = 200
)

// errNoSession is what a request without a good session gets.
var errNoSession = domain.Unauthenticatedf("you are not signed in, or the session has ended")

// credential is what proved who somebody is. It is looked at anew with each request, so
// that a revoked token, another key or the end of its time ends the session at once.
type credential struct {
	who identity.Proof
	// token is a bearer token; "" for the operator, who came by the local socket.
	token string
}

// session is one browser's.
type session struct {
	credential
	// name is what it is called in the list: the beginning of the hash of its secret.
	name        string
	agent       string
	began, used time.Time
	until       time.Time
	flashes     []flash // what its last actions did
}

// sessions are those of one node. They lie in memory: see docs/decisions/0039.
type sessions struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*session
	links map[[sha256.Size]byte]linked
}

// linked is a link that nobody has used yet.
type linked struct {
	credential
	until time.Time
}

// Sessions are those of one node, for a process in which the node begins again.
type Sessions = sessions

// NewSessions returns none.
func NewSessions() *Sessions {
	return &sessions{byKey: map[[sha256.Size]byte]*session{}, links: map[[sha256.Size]byte]linked{}}
}

// newSecret is what a browser shows again, or what stands in a link: 256 bits.
func newSecret() string {
	secret := make([]byte, 32)
	rand.Read(secret) // it never fails: see crypto/rand
	return hex.EncodeToString(secret)
}

// begin makes a session and returns its secret.
func (s *sessions) begin(c credential, agent string, now time.Time) string {
	secret := newSecret()
	key := sha256.Sum256([]byte(secret))
	until := now.Add(sessionLife)
	if c.token != "" && c.who.ExpiresAt.Before(until) {
		until = c.who.ExpiresAt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(c.who.Actor, now)
	s.byKey[key] = &session{credential: c, name: hex.EncodeToString(key[:4]), agent: domain.PlainText(agent, maxAgent), began: now, used: now, until: until}
	return secret
}

// makeRoom removes what has ended, and of an actor who has many the one used longest
// ago. s.mu is held.
func (s *sessions) makeRoom(actor domain.ActorID, now time.Time) {
	count := 0
	var oldest, oldestOfOne [sha256.Size]byte
	at := func(k [sha256.Size]byte) time.Time {
		if there := s.byKey[k]; there != nil {
			return there.used
		}
		return now
	}
	for k, there := range s.byKey {
		if now.After(there.until) {
			delete(s.byKey, k)
			continue
		}
		if there.used.Before(at(oldest)) {
			oldest = k
		}
		if there.who.Actor == actor {
			if count++; there.used.Before(at(oldestOfOne)) {
				oldestOfOne = k
			}
		}
	}
	if count >= sessionsOfOne {
		delete(s.byKey, oldestOfOne)
	} else if len(s.byKey) >= sessionsMost {
		delete(s.byKey, oldest)
	}
}

// find returns the credential of a secret, and notes that the session was used.
func (s *sessions) find(secret string, now time.Time) (credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	there := s.byKey[key]
	if there == nil {
		return credential{}, errNoSession
	}
	if now.After(there.until) {
		delete(s.byKey, key)
		return credential{}, errNoSession
	}
	there.used = now
	return there.credential, nil
}

// end ends the session of a secret.
func (s *sessions) end(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, sha256.Sum256([]byte(secret)))
}

// revoke ends the session of an actor that has a name; the operator's may be any.
// It reports whether there was one.
func (s *sessions) revoke(by domain.ActorID, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, there := range s.byKey {
		if there.name == name && (there.who.Actor == by || by == domain.Operator) {
			delete(s.byKey, k)
			return true
		}
	}
	return false
}

// list are the sessions that an actor may see: its own, and all for the operator. The
// last used come first.
func (s *sessions) list(by domain.ActorID, now time.Time) []session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []session
	for _, there := range s.byKey {
		if now.Before(there.until) && (there.who.Actor == by || by == domain.Operator) {
			list = append(list, *there)
		}
	}
	slices.SortFunc(list, func(a, b session) int { return cmp.Or(b.used.Compare(a.used), strings.Compare(a.name, b.name)) })
	return list
}

// nameOf is what the session of a secret is called in the list.
func nameOf(secret string) string {
	key := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(key[:4])
}

// flash is a sentence about what an action did. The page that it leads to names it in its
// address: another tab of the same session must not take it away.
type flash struct {
	ID     string
	Text   string
	Unwell bool // it was not done
}

// flashesMost bounds what a session keeps of them.
const flashesMost = 8

// say keeps a sentence for a session, and returns its name.
func (s *sessions) say(secret, text string, unwell bool) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := s.byKey[sha256.Sum256([]byte(secret))]
	if there == nil {
		return ""
	}
	f := flash{rand.Text()[:8], text, unwell}
	there.flashes = append(there.flashes, f)
	there.flashes = there.flashes[max(0, len(there.flashes)-flashesMost):]
	return f.ID
}

// said finds such a sentence.
func (s *sessions) said(secret, id string) flash {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.byKey[sha256.Sum256([]byte(secret))]; there != nil {
		for _, f := range there.flashes {
			if f.ID == id {
				return f
			}
		}
	}
	return flash{}
}

// link makes a link's secret.
//
// Errors: [domain.ErrUnavailable] when too many wait to be used.
func (s *sessions) link(c credential, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, there := range s.links {
		if now.After(there.until) {
			delete(s.links, k)
		}
	}
	if len(s.links) >= sessionsMost {
		return "", domain.Unavailablef("%d links wait to be used; try again in %v", len(s.links), linkLife)
	}
	secret := newSecret()
	s.links[sha256.Sum256([]byte(secret))] = linked{c, now.Add(linkLife)}
	return secret, nil
}

// follow uses a link up.
//
// Errors: [domain.ErrUnauthenticated].
func (s *sessions) follow(secret string, now time.Time) (credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	there, known := s.links[key]
	delete(s.links, key)
	if !known || now.After(there.until) {
		return credential{}, domain.Unauthenticatedf("this link was used already, or is older than %v: `ramet console` makes another", linkLife)
	}
	return there.credential, nil
}

// cookieName is that of a node's session cookie. Browsers keep cookies by host, not by
// port: two nodes of one machine must not take each other's away.
func cookieName(node string) string {
	sum := sha256.Sum256([]byte(node))
	return "ramet-" + hex.EncodeToString(sum[:4])
}

// setCookie gives a browser its secret, or takes it away: "".
func (c *Console) setCookie(w nethttp.ResponseWriter, r *nethttp.Request, secret string) {
	k := &nethttp.Cookie{Name: c.cookie, Value: secret, Path: Path, HttpOnly: true, Secure: r.TLS != nil, SameSite: nethttp.SameSiteStrictMode}
	if secret == "" {
		k.MaxAge = -1
	}
	nethttp.SetCookie(w, k)
}

// secretOf is what a browser shows, "" where it shows nothing.
func (c *Console) secretOf(r *nethttp.Request) string {
	k, err := r.Cookie(c.cookie)
	if err != nil {
		return ""
	}
	return k.Value
}
