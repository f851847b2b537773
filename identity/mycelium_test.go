package identity_test

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// TestMyceliumAddress has the keys of the README of mycelium and its page on messages
// with the addresses that its code gives them today.
func TestMyceliumAddress(t *testing.T) {
	for key, want := range map[string]string{
		"955bf6bea5e1150fd8e270c12e5b2fc08f08f7c5f3799d10550096cc137d671b": "514:74ce:dd13:296f:ada7:4d2e:9335:acac",
		"bb39b4a3a4efd70f3e05e37887677e02efbda14681d0acd3882bc0f754792c32": "57f:ad8b:cfa2:e46a:adb7:fe0d:4878:1f71",
		"BB39B4A3A4EFD70F3E05E37887677E02EFBDA14681D0ACD3882BC0F754792C32": "57f:ad8b:cfa2:e46a:adb7:fe0d:4878:1f71",
	} {
		got, err := identity.MyceliumAddress(key)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v, %v, want %s", key, got, err, want)
		}
	}
}

func TestMyceliumAddressesOfActors(t *testing.T) {
	within := netip.MustParsePrefix("400::/7")
	seen := map[byte]bool{}
	for range 64 { // both first bytes come up, but for one run in 2^63
		key, err := identity.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		got, err := identity.MyceliumAddress(key.Mycelium())
		if err != nil || !within.Contains(got) {
			t.Fatalf("key %s: got %v, %v, want an address in %s", key.Mycelium(), got, err, within)
		}
		seen[got.As16()[0]] = true
	}
	if !seen[4] || !seen[5] {
		t.Errorf("got addresses that begin with %v, want both 4 and 5", seen)
	}
}

func TestMyceliumAddressWantsAKey(t *testing.T) {
	for _, bad := range []string{"", "ab", strings.Repeat("ab", 31), strings.Repeat("ab", 33), strings.Repeat("xy", 32)} {
		if got, err := identity.MyceliumAddress(bad); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, %v", bad, got, err)
		}
	}
}

// TestBlake3 is the beginning of the official vectors: input byte i is i mod 251.
//
// Source: BLAKE3 test_vectors.json.
func TestBlake3(t *testing.T) {
	for length, want := range map[int]string{
		0:     "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		1:     "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
		1024:  "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
		1025:  "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
		8193:  "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b",
		31744: "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
	} {
		input := make([]byte, length)
		for i := range input {
			input[i] = byte(i % 251)
		}
		sum := blake3.Sum256(input)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%d bytes: got %s, want %s", length, got, want)
		}
	}
}
