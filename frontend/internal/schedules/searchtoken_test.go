package schedules

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestSearchTokenRoundTrip(t *testing.T) {
	t.Parallel()
	token := searchToken{fingerprint(&query.Query{}, "")}
	long := strings.Repeat("x", schedule.MaxIDBytes)
	for _, p := range []search.Position{
		{ID: "a"}, {ID: long, Value: long}, {ID: "a", Value: ""}, {ID: "a", Value: int64(0)},
		{ID: "a", Value: int64(math.MinInt64)}, {ID: "ä.b", Value: "\x00'"},
	} {
		text := token.encode(p)
		assert.Less(t, len(text), schedule.MaxPageTokenBytes)
		back, err := token.decode(text)
		require.NoError(t, err)
		assert.Equal(t, p, back)
	}
	first, err := token.decode("")
	require.NoError(t, err)
	assert.Zero(t, first)
}

func TestSearchTokenOfAnotherSearch(t *testing.T) {
	t.Parallel()
	parse := func(text string) *query.Query {
		q, err := query.Parse(text)
		require.NoError(t, err)
		return q
	}
	text := searchToken{fingerprint(parse("paused = true"), "a")}.encode(search.Position{ID: "b"})
	_, err := searchToken{fingerprint(parse("(paused=TRUE)"), "a")}.decode(text)
	require.NoError(t, err, "the same, written in another way")
	for _, other := range []searchToken{
		{fingerprint(parse("paused = false"), "a")}, {fingerprint(parse("paused = true"), "b")},
		{fingerprint(parse("paused = true order by nextTime"), "a")},
	} {
		_, err := other.decode(text)
		require.ErrorContains(t, err, "pageToken: is that of another search")
	}
}

func TestSearchTokenRefusesWhatItDoesNotMake(t *testing.T) {
	t.Parallel()
	token := searchToken{fingerprint(&query.Query{}, "")}
	head := append([]byte{searchTokenVersion}, token.fingerprint...)
	for _, data := range [][]byte{
		{}, {1, 'a'}, head, append(head[:len(head):len(head)], noValue), append(head[:len(head):len(head)], 9, 'a'),
		append(head[:len(head):len(head)], intValue, 1, 2), append(head[:len(head):len(head)], textValue, 200, 'a'),
		append(head[:len(head):len(head)], textValue, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		text := base64.RawURLEncoding.EncodeToString(data)
		if text == "" {
			text = "?"
		}
		_, err := token.decode(text)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, "%v", data)
	}
	_, err := token.decode(listing.EncodePageToken("a"))
	require.ErrorContains(t, err, "is not a token of an earlier reply to a query")
	_, err = listing.DecodePageToken(token.encode(search.Position{ID: "a"}))
	require.Error(t, err)
}

func FuzzSearchToken(f *testing.F) {
	token := searchToken{fingerprint(&query.Query{}, "")}
	f.Add(token.encode(search.Position{ID: "a", Value: "b"}))
	f.Add(token.encode(search.Position{ID: "a", Value: int64(5)}))
	f.Add("?")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := token.decode(text)
		if err != nil || text == "" {
			return
		}
		again, err := token.decode(token.encode(p))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
