package etcdboard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/testcert"
)

func TestAURLThatIsNoneIsRefused(t *testing.T) {
	for _, url := range []string{
		"etcd://", "http://localhost:2379", "etcd:///ramet", "etcd://h?ca=x", "etcds://h?other=1", "etcds://h?cert=/none", "etcd://h,/ramet",
		"etcd://u:12/secret@h", "etcd://u:12#secret@h", "etcds://h?ca=x;key=y",
	} {
		if _, err := etcdboard.Open(t.Context(), url, etcdboard.Config{}); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want invalid", url, err)
		}
	}
}

func TestAClusterThatCannotBeReachedIsUnavailable(t *testing.T) {
	_, err := etcdboard.Open(t.Context(), "etcd://127.0.0.1:1/ramet", etcdboard.Config{Answer: 200 * time.Millisecond})
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestAnotherProgramsKeysAreNoBoard(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	if _, err := client(t, server).Put(t.Context(), "theirs/k/1/x", "not ours"); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdboard.Open(t.Context(), etcdtest.URL("theirs", server), etcdboard.Config{}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want invalid", err)
	}
}

func TestAUserNeedsTheRightPassword(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	c := client(t, server)
	_, err := c.UserAdd(t.Context(), "root", "secret")
	if err == nil {
		_, err = c.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = c.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, "etcd://root:secret@"+server.Addr()+"/ramet")
	commit(t, b, in(sp).Set("r", board.Field{Name: "a", Value: "1"}))
	for _, user := range []string{"", "root:wrong@", "nobody:secret@"} {
		_, err := etcdboard.Open(t.Context(), "etcd://"+user+server.Addr()+"/ramet", etcdboard.Config{})
		if !errors.Is(err, domain.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("user %q: got %v, want unavailable", user, err)
		}
	}
}

func TestTheWayMayBeEncrypted(t *testing.T) {
	c := testcert.New(t)
	cert, key := c.Cert, c.Key
	server := etcdtest.Start(t, "--unsafe-no-fsync", "--cert-file="+cert, "--key-file="+key, "--trusted-ca-file="+cert, "--client-cert-auth")
	b := open(t, "etcds://"+server.Addr()+"/ramet?ca="+cert+"&cert="+cert+"&key="+key)
	commit(t, b, in(sp).Set("r", board.Field{Name: "a", Value: "1"}))
	if _, err := etcdboard.Open(t.Context(), "etcds://"+server.Addr()+"/ramet",
		etcdboard.Config{Answer: 500 * time.Millisecond}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a server nobody vouches for: got %v, want unavailable", err)
	}
}
