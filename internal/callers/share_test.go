package callers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/callers"
)

// TestRoomForAnother: who may come again goes first, and then who was here longest ago.
func TestRoomForAnother(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := callers.Crowd(now, 700)
	assert.Equal(t, []int{700}, c.MakeRoom(now))
	assert.Equal(t, []int{700}, c.MakeRoom(now), "there is room")
	assert.Equal(t, []int{0}, callers.Crowd(now).MakeRoom(now))
	busy := callers.Crowd(now)
	busy.Busy(999)
	assert.Equal(t, []int{999}, busy.MakeRoom(now), "whoever has a request in progress stays")
	full := callers.Crowd(now)
	full.Busy(-1)
	assert.False(t, full.HasRoom(now))
}

// TestRoomIsShared: whoever makes users without end takes the places of their own, and of nobody else. That holds for users with requests in progress, too.
func TestRoomIsShared(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := callers.Crowd(now)
	c.Belongs("office", 0, 300) // who were here longest ago
	c.Belongs("attacker", 300, callers.MaxKnown)
	for n := range 50 {
		assert.Equal(t, map[string]int{"office": 300, "attacker": 700}, c.LetIn(now, "attacker", 2000+n))
	}
	assert.Equal(t, map[string]int{"office": 301, "attacker": 699}, c.LetIn(now, "office", 3000))
	assert.Equal(t, map[string]int{"office": 301, "attacker": 698, "home": 1}, c.LetIn(now, "home", 3001))
	c.Busy(-1)
	assert.Nil(t, c.LetIn(now, "attacker", 3002), "all others of its owner have requests in progress")
	assert.Equal(t, map[string]int{"office": 302, "attacker": 697, "home": 1}, c.LetIn(now, "office", 3003), "the requests of whoever has most end")

	even := callers.Crowd(now)
	even.Belongs("office", 0, 500)
	even.Belongs("attacker", 500, callers.MaxKnown)
	assert.Equal(t, map[string]int{"office": 500, "attacker": 500}, even.LetIn(now, "attacker", 2000))
}

// TestOwner: the users of a JWT account belong together, wherever they are. Others belong together if their addresses do.
func TestOwner(t *testing.T) {
	t.Parallel()
	account, signing := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	user := func(by key, of string) callers.Credentials {
		claims := jwt.NewUserClaims(newKey(t, nkeys.CreateUser).public)
		claims.IssuerAccount = of
		credentials, err := callers.Key(by.issue(claims))
		require.NoError(t, err)
		return credentials
	}
	first, second := callers.Client{Credentials: user(account, ""), Address: "192.0.2.1"}, callers.Client{Credentials: user(signing, account.public), Address: "192.0.2.2"}
	assert.Equal(t, first.Owner(), second.Owner())
	assert.NotEqual(t, first.Owner(), callers.Client{Credentials: user(signing, "")}.Owner())
	ann, err := callers.Password("ann", "a")
	require.NoError(t, err)
	bob, err := callers.Key("token")
	require.NoError(t, err)
	at := func(credentials callers.Credentials, address string) string {
		return callers.Client{Credentials: credentials, Address: address}.Owner()
	}
	assert.Equal(t, at(ann, "2001:db8::1"), at(bob, "2001:db8::ffff:1"))
	assert.NotEqual(t, at(ann, "2001:db8::1"), at(ann, "2001:db8:0:1::1"))
	assert.NotEqual(t, at(ann, "192.0.2.1"), at(ann, "192.0.2.2"))
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "::1": "::/64",
		"": "", "@": "@", "bufconn": "bufconn",
	} {
		assert.Equal(t, want, callers.Network(address), address)
	}
}

// TestGuessingFromOneNetwork: the addresses of an IPv6 network are those of one guesser.
func TestGuessingFromOneNetwork(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	for n := range 21 {
		guess := s.client(fmt.Sprintf("Bearer reader:guess-%d", n))
		guess.Address = fmt.Sprintf("2001:db8::%x", n+1)
		err := s.Known(t.Context(), guess)
		if n < 20 {
			require.ErrorIs(t, err, callers.ErrRefused)
			continue
		}
		require.ErrorIs(t, err, callers.ErrTooMany)
	}
	elsewhere := s.client("Bearer worker:w")
	elsewhere.Address = "2001:db8:0:1::1"
	require.NoError(t, s.Known(t.Context(), elsewhere))
}
