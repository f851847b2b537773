package identity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// bodies are what others might have us sign, each kind's own among them.
func bodies(t *testing.T) [][]byte {
	t.Helper()
	list := [][]byte{nil, {}, []byte("{}"), []byte("eyJ"), []byte("eyJ."), []byte(".eyJ"), []byte("eyJhbGciOiJFZERTQSJ9.e30"),
		[]byte("aaaaaaaaaaaaaaa"), []byte("AAAAAAAAAAAAAAE"), []byte("eyJhbGciOiJFZEE"), bytes.Repeat([]byte("a"), 44),
		[]byte("ramet/message/v1\n" + strings.Repeat("x", 32)), []byte("ramet/parcel/v1\n" + strings.Repeat("x", 32))}
	for range 200 {
		raw := make([]byte, nonceBytes)
		_, _ = rand.Read(raw)
		list = append(list, raw, []byte(rand.Text()), fmt.Appendf(nil, "%x", raw))
	}
	// What is signed of one kind, as the body of all others.
	for _, s := range statements {
		for _, body := range list[:13] {
			if text, err := s.text(body); err == nil {
				list = append(list, text)
			}
		}
	}
	return list
}

// What is signed as one kind cannot be read as another, whatever the body.
func TestNoStatementCanBeReadAsAnother(t *testing.T) {
	all, made := bodies(t), map[string]bool{}
	seen := map[string]string{}
	for _, s := range statements {
		for _, body := range all {
			text, err := s.text(body)
			if err != nil {
				continue // refused before it is signed
			}
			made[s.name] = true
			for _, other := range statements {
				if got, want := other.is(text), other.name == s.name; got != want {
					t.Errorf("%q, signed as a %s: is it a %s? got %t, want %t", text, s.name, other.name, got, want)
				}
			}
			if before, found := seen[string(text)]; found && before != s.name+string(body) {
				t.Errorf("%q is signed of two bodies", text)
			}
			seen[string(text)] = s.name + string(body)
		}
	}
	for _, s := range statements {
		if !made[s.name] {
			t.Errorf("no body is a %s: the test shows nothing of it", s.name)
		}
	}
}

// Every signer of the project, with bodies of its own making: its signature is
// good for its kind and no other.
func TestEverySignerSignsItsKindAlone(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	k, link := Key{Actor: 12, private: private}, LinkKey{private} // one key for all: the worst case
	m := &domain.Message{ID: 1, CallerID: 12, MessageType: domain.MessageChat, Message: "eyJhbGciOiJFZERTQSJ9.e30"}
	if err := SignMessage(k, m); err != nil {
		t.Fatal(err)
	}
	parcel, err := SignParcel(k, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	minted, err := Mint(k, "nina", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	input, sig, _ := cutLast(minted)
	nonce := []byte("AAAAAAAAAAAAAAA")
	raw, err := link.SignNonce(nonce)
	if err != nil {
		t.Fatal(err)
	}
	in, err := link.SignLogin([]string{k.Pubkey()}, nonce)
	if err != nil {
		t.Fatal(err)
	}
	body, err := bodyOf(m)
	if err != nil {
		t.Fatal(err)
	}
	chain, name := chains{key: k}, chainName{7, layout.AuditLog}
	line := layout.AuditLine{AuditEntry: domain.AuditEntry{Verb: "grant", Seq: 1}}
	if err := chain.sign(name, &line); err != nil {
		t.Fatal(err)
	}
	anchor, err := (&directory{chains: chains{key: k}}).anchor(name, 1, "{}", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]struct{ body, sig []byte }{
		"message": {body, unhex(t, m.Signature)}, "parcel": {[]byte("{}"), parcel}, "login": {login([]string{k.Pubkey()}, nonce), in},
		"audit-line": {lineBody(name, line), unhex(t, line.Signature)}, "audit-anchor": {anchorBody(name, *anchor), unhex(t, anchor.Signature)},
		"token": {[]byte(input), sig}, "nonce": {nonce, raw},
	}
	if len(said) != len(statements) {
		t.Errorf("got signatures of %d kinds, there are %d: sign one of each here", len(said), len(statements))
	}
	for name, one := range said {
		for _, s := range statements {
			for _, other := range said {
				good := signed(k.Pubkey(), s, other.body, one.sig)
				if want := s.name == name && bytes.Equal(other.body, one.body); good != want {
					t.Errorf("the signature of a %s is good for a %s of %.40q: got %t, want %t", name, s.name, other.body, good, want)
				}
			}
		}
	}
}

func cutLast(text string) (before string, signature []byte, found bool) {
	i := strings.LastIndexByte(text, '.')
	sig, err := base64.RawURLEncoding.DecodeString(text[i+1:])
	return text[:i], sig, err == nil
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a hostile NATS server sends is not signed, unless it is what a NATS
// server sends; and the signature of that proves nothing to a node.
func TestALinkKeySignsNoncesOnly(t *testing.T) {
	node, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	node.Actor = 5
	k, err := NewLinkKey()
	if err != nil {
		t.Fatal(err)
	}
	minted, err := Mint(node, "nina", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	input, _, _ := cutLast(minted)
	for _, asked := range []string{
		"", input, "eyJhbGciOiJFZEE.", "AAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAA=", "AAAAAAA+AAAAAAA", "AAAAAAAAAAAAAA\n",
		"AAAAAAAAAAAAAAB", // its last two bits are none of 11 bytes
		"ramet/parcel/v1\n" + strings.Repeat("h", 32), "ramet signs par", string(must(aParcel.text([]byte("{}")))), string(must(aMessage.text([]byte("{}")))),
	} {
		if _, err := k.SignNonce([]byte(asked)); err == nil {
			t.Errorf("signed %q", asked)
		}
		if _, err := k.SignLogin([]string{node.Pubkey()}, []byte(asked)); err == nil {
			t.Errorf("signed a log-in with %q", asked)
		}
	}
	// Even if it were the actor's key, and the nonce were what a token begins with.
	sig, err := k.SignNonce([]byte("eyJhbGciOiJFZEA"))
	if err != nil {
		t.Fatal(err)
	}
	forged := "eyJhbGciOiJFZEA." + base64.RawURLEncoding.EncodeToString(sig)
	v := Verifier{Node: "nina", Holder: func(context.Context, domain.ActorID) (Holder, error) {
		return Holder{Actor: domain.Actor{ID: 5, Pubkey: k.Pubkey()}}, nil
	}}
	if _, err := v.Verify(t.Context(), forged); err == nil {
		t.Error("the signature of a nonce is a token")
	}
	if VerifyParcel(k.Pubkey(), []byte("eyJhbGciOiJFZEA"), sig) == nil {
		t.Error("the signature of a nonce is that of a parcel")
	}
}

// A log-in is good at the node that it names: a server that passes on another's
// nonce gets nothing for it.
func TestALoginIsForOneNode(t *testing.T) {
	k, err := NewLinkKey()
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte("AAAAAAAAAAAAAAE")
	if !isNonce(nonce) {
		nonce = []byte("AAAAAAAAAAAAAAA")
	}
	sig, err := k.SignLogin([]string{"aa", "bb"}, nonce)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		nodes []string
		nonce string
		want  bool
	}{
		{"as it was signed", []string{"aa", "bb"}, string(nonce), true},
		{"another node", []string{"cc"}, string(nonce), false},
		{"fewer nodes", []string{"aa"}, string(nonce), false},
		{"another nonce: it is played again", []string{"aa", "bb"}, "AAAAAAAAAAAAAAI", false},
		{"no nonce", []string{"aa", "bb"}, "", false},
	} {
		if got := VerifyLogin(k.Pubkey(), c.nodes, []byte(c.nonce), sig); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
	raw, err := k.SignNonce(nonce)
	if err != nil {
		t.Fatal(err)
	}
	if VerifyLogin(k.Pubkey(), []string{"aa", "bb"}, nonce, raw) {
		t.Error("what a plain NATS server has signed is good as a log-in to a node")
	}
}

// A message or parcel of a version before is refused with what to do.
func TestOldFormsAreNamed(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	m := &domain.Message{ID: 1, CallerID: 12, MessageType: domain.MessageChat}
	if err := SignMessage(k, m); err != nil {
		t.Fatal(err)
	}
	m.Alg = domain.AlgOld
	if err := VerifyMessage(m); err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("got %v, want what to do", err)
	}
}

func TestLinkKeyFiles(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{r.Node.Pubkey(): true, r.Bus.Pubkey(): true, r.Stream.Pubkey(): true}
	if len(keys) != 3 {
		t.Fatalf("got %d keys, want three that differ", len(keys))
	}
	for _, name := range []string{BusKeyFile, StreamKeyFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info.Mode(), err)
		}
		if _, err := LoadKey(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is taken for an actor's key", name)
		}
	}
	if _, err := LoadLinkKey(filepath.Join(dir, NodeKeyFile)); err == nil {
		t.Error("the node's key is taken for a link key")
	}
	text, err := os.ReadFile(filepath.Join(dir, BusKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{`"link":"x",`, `"Link":"x",`} { // readers differ in which of two they take
		twice := filepath.Join(t.TempDir(), "twice.key")
		if err := os.WriteFile(twice, []byte(strings.Replace(string(text), "{", "{"+more, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadLinkKey(twice); err == nil {
			t.Errorf("a link key with %s before the rest is read", more)
		}
	}
	again, err := OpenKeyring(dir)
	if err != nil || again.Bus.Pubkey() != r.Bus.Pubkey() || again.Stream.Pubkey() != r.Stream.Pubkey() {
		t.Errorf("after a restart: got other link keys, %v", err)
	}
	if _, _, err := RenewLinks(dir); err != nil {
		t.Fatal(err)
	}
	again, err = OpenKeyring(dir)
	if err != nil || keys[again.Bus.Pubkey()] || keys[again.Stream.Pubkey()] || again.Node.Pubkey() != r.Node.Pubkey() {
		t.Errorf("after a renewal: want other link keys and the same node, got %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, BusKeyFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKeyring(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a link key that others can read: got %v", err)
	}
}

// Nothing else in the project signs: another place would need another proof.
func TestOnlyThisPackageSigns(t *testing.T) {
	root, signers := "..", map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules") {
			return cmpDir(d, err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil // not ours to judge
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, _ := s.X.(*ast.Ident)
			switch {
			case pkg != nil && pkg.Name == "ed25519" && s.Sel.Name == "Sign",
				s.Sel.Name == "SignedString", pkg != nil && pkg.Name == "nkeys" && strings.HasPrefix(s.Sel.Name, "From") && s.Sel.Name != "FromPublicKey":
				signers[filepath.ToSlash(path)] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range signers {
		switch path {
		case "../identity/statement.go":
		case "../internal/natslink/login.go": // with keys of NATS's own that an operator gave
		default:
			t.Errorf("%s signs by itself: let it use a function of package identity, with a kind of statement of its own", path)
		}
	}
	if !signers["../identity/statement.go"] {
		t.Error("the test found no signer: it shows nothing")
	}
}

func cmpDir(d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
