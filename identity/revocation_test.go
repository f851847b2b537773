package identity_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// holderOf registers an actor and returns its key.
func holderOf(t *testing.T, r *identity.Registry, id domain.ActorID) identity.Key {
	t.Helper()
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key.Actor = id
	if _, _, err := r.CreateActor(t.Context(), domain.Actor{ID: id, Pubkey: key.Pubkey()}); err != nil {
		t.Fatal(err)
	}
	return key
}

// twoNodes are the tokens of two nodes on one board, in virtual time: revoked
// here, used there. Tokens are for there.
func twoNodes(t *testing.T, do func(t *testing.T, b *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		here, elsewhere := identity.NewRegistry(b), identity.NewRegistry(b)
		key := holderOf(t, here, 12)
		put(t, b, domain.Tenant{ID: 7, Admins: []domain.ActorID{1}, Readers: []domain.ActorID{12}})
		do(t, b, here, identity.NewTokens(elsewhere, identity.NewAccess(elsewhere, nil), "there"), key)
	})
}

func mint(t *testing.T, k identity.Key) string {
	t.Helper()
	token, err := k.Token("there", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func verified(t *testing.T, tokens *identity.Tokens, token string) identity.Proof {
	t.Helper()
	p, err := tokens.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestARevokedTokenEndsEverywhereWithinASecond(t *testing.T) {
	twoNodes(t, func(t *testing.T, b *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
		bad, good := mint(t, key), mint(t, key)
		id := verified(t, there, bad).Token
		verified(t, there, good)
		if err := here.As(12).RevokeToken(t.Context(), 12, id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(identity.CacheFor) // virtual
		if _, err := there.Verify(t.Context(), bad); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
		verified(t, there, good)
		list, err := there.List(t.Context(), 12)
		if err != nil || len(list) != 2 || list[0].Revoked != (list[0].ID == id) || list[1].Revoked != (list[1].ID == id) {
			t.Errorf("got %+v, %v", list, err)
		}
		// The board does not keep it for ever.
		time.Sleep(2 * identity.MaxTokenLife)
		if recs, err := b.Get(t.Context(), 0, layout.Revoked(12)); err != nil || recs[0] != nil {
			t.Errorf("it is there still: %v, %v", recs, err)
		}
	})
}

func TestAllTokensOfAnActorAreRevoked(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
		// Its machine's clock goes half a minute ahead: what it signs now has a
		// time that is yet to come.
		ahead, err := identity.Mint(key, "there", time.Now().Add(identity.Leeway/2), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		old := mint(t, key)
		verified(t, there, ahead)
		if err := here.RevokeTokens(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		time.Sleep(identity.CacheFor)
		for name, token := range map[string]string{"an old one": old, "one of a clock that is ahead": ahead, "one of right now": mint(t, key)} {
			if _, err := there.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnauthenticated) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		time.Sleep(identity.Leeway + time.Second)
		verified(t, there, mint(t, key))
	})
}

func TestRevokedTokensAreBounded(t *testing.T) {
	twoNodes(t, func(t *testing.T, b *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
		var err error
		n := 0
		for ; err == nil && n <= 2000; n++ {
			err = here.RevokeToken(t.Context(), 12, fmt.Sprint("t", n))
		}
		if !errors.Is(err, domain.ErrLimit) || n > 1100 {
			t.Fatalf("after %d: got %v", n, err)
		}
		token := mint(t, key)
		if err := here.RevokeTokens(t.Context(), 12); err != nil {
			t.Fatalf("all of them: %v", err)
		}
		recs, err := b.Get(t.Context(), 0, layout.Revoked(12))
		if err != nil || len(recs[0]) != 1 {
			t.Errorf("got %d fields, %v", len(recs[0]), err)
		}
		time.Sleep(identity.CacheFor)
		if _, err := there.Verify(t.Context(), token); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
		// Single ones that have run out make room.
		for i := range 1000 {
			if err := here.RevokeToken(t.Context(), 12, fmt.Sprint("u", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(identity.MaxTokenLife)
		if err := here.RevokeToken(t.Context(), 12, "late"); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("they may be good by a clock that is behind: got %v", err)
		}
		time.Sleep(3 * identity.Leeway)
		if err := here.RevokeToken(t.Context(), 12, "later"); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatCannotBeRevoked(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, _ *identity.Tokens, _ identity.Key) {
		for _, id := range []string{"", "a b", "-x", "*", "before", string(make([]byte, 65))} {
			if err := here.RevokeToken(t.Context(), 12, id); id != "before" && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v", id, err)
			}
		}
		if err := here.RevokeToken(t.Context(), 99, "x"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("of nobody: got %v", err)
		}
	})
}

// TestATokenWithoutAnIDHasOne: programs that were written before there were ids.
func TestATokenWithoutAnIDHasOne(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, there *identity.Tokens, _ identity.Key) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := here.UpdateActor(t.Context(), 12, domain.ActorChange{Pubkey: hex.EncodeToString(public)}); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		sign := func(more jwt.MapClaims) string {
			c := jwt.MapClaims{"iss": "12", "aud": "there", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
			for k, v := range more {
				c[k] = v
			}
			return forge(t, jwt.SigningMethodEdDSA, private, c)
		}
		bare, odd := sign(nil), sign(jwt.MapClaims{"jti": "{9F-17}"})
		first, second := verified(t, there, bare), verified(t, there, odd)
		if first.Token == second.Token || domain.ValidateTokenID(first.Token) != nil || domain.ValidateTokenID(second.Token) != nil {
			t.Fatalf("got %q and %q", first.Token, second.Token)
		}
		if again := verified(t, there, bare); again.Token != first.Token {
			t.Errorf("got %q, then %q", first.Token, again.Token)
		}
		if err := here.RevokeToken(t.Context(), 12, first.Token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(identity.CacheFor)
		if _, err := there.Verify(t.Context(), bare); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
		verified(t, there, odd)
	})
}

// TestASpoiledRecordRevokesRatherThanNot: another program wrote there.
func TestASpoiledRecordRevokesRatherThanNot(t *testing.T) {
	twoNodes(t, func(t *testing.T, b *memboard.Board, _ *identity.Registry, there *identity.Tokens, key identity.Key) {
		var batch board.Batch
		batch.Set(layout.Revoked(12), board.Field{Name: layout.RevokedBefore, Value: "yesterday"})
		if err := b.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Verify(t.Context(), mint(t, key)); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTokensAreListed(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, here *identity.Registry, there *identity.Tokens, key identity.Key) {
		other := holderOf(t, here, 13)
		named, err := identity.MintFor(key, "there", time.Now(), 2*time.Hour, identity.Claims{Name: "grafana", Scope: domain.Scope{ReadOnly: true}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := there.Note(t.Context(), 12, named); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Note(t.Context(), 13, named); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("another's: got %v", err)
		}
		if _, err := there.Note(t.Context(), 12, "x.y.z"); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("rubbish: got %v", err)
		}
		list, err := there.List(t.Context(), 12)
		if err != nil || len(list) != 1 || list[0].Name != "grafana" || !list[0].ReadOnly || list[0].SeenMs != 0 {
			t.Fatalf("before it was used: got %+v, %v", list, err)
		}
		// A flood of one actor's pushes out nobody else's.
		keep := verified(t, there, mint(t, other)).Token
		verified(t, there, named)
		for range 200 {
			verified(t, there, mint(t, key))
		}
		if list, err := there.List(t.Context(), 13); err != nil || len(list) != 1 || list[0].ID != keep {
			t.Errorf("got %+v, %v", list, err)
		}
		if list, err := there.List(t.Context(), 12); err != nil || len(list) > 40 {
			t.Errorf("got %d tokens, %v", len(list), err)
		}
		time.Sleep(identity.MaxTokenLife)
		if list, err := there.List(t.Context(), 12); err != nil || len(list) != 0 {
			t.Errorf("they have run out: got %+v, %v", list, err)
		}
	})
}

func TestNotedTokensAreBounded(t *testing.T) {
	twoNodes(t, func(t *testing.T, _ *memboard.Board, _ *identity.Registry, there *identity.Tokens, key identity.Key) {
		var err error
		n := 0
		for ; err == nil && n < 300; n++ {
			_, err = there.Note(t.Context(), 12, mint(t, key))
		}
		if !errors.Is(err, domain.ErrLimit) || n > 110 {
			t.Errorf("after %d: got %v", n, err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := there.Note(t.Context(), 12, mint(t, key)); err != nil {
			t.Errorf("those that ran out: %v", err)
		}
	})
}
