package listing

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

func keysOf(ids ...string) []schedule.Key {
	keys := make([]schedule.Key, len(ids))
	for i, id := range ids {
		keys[i] = schedule.Key{Namespace: "default", ID: id}
	}
	return keys
}

func TestPageKeys(t *testing.T) {
	t.Parallel()
	all := keysOf("a", "b1", "b2", "b3", "c")
	for _, test := range []struct {
		name          string
		prefix, after string
		size          int
		want          []schedule.Key
		more          bool
	}{
		{"everything", "", "", 10, all, false},
		{"exactly everything", "", "", 5, all, false},
		{"first page", "", "", 2, keysOf("a", "b1"), true},
		{"next page", "", "b1", 2, keysOf("b2", "b3"), true},
		{"last page", "", "b3", 2, keysOf("c"), false},
		{"after the last", "", "c", 2, keysOf(), false},
		{"after one that has gone", "", "b11", 2, keysOf("b2", "b3"), true},
		{"prefix", "b", "", 10, keysOf("b1", "b2", "b3"), false},
		{"page of a prefix", "b", "", 2, keysOf("b1", "b2"), true},
		{"last page of a prefix", "b", "b2", 2, keysOf("b3"), false},
		{"after the prefix", "b", "c", 2, keysOf(), false},
		{"before the prefix", "b", "a", 2, keysOf("b1", "b2"), true},
		{"nothing with the prefix", "bb", "", 2, keysOf(), false},
		{"the prefix itself", "c", "", 2, keysOf("c"), false},
		{"after the prefix itself", "c", "c", 2, keysOf(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			page, more := Keys(all, test.prefix, test.after, test.size)
			assert.Equal(t, test.want, append([]schedule.Key{}, page...))
			assert.Equal(t, test.more, more)
		})
	}
}

func TestPagesTogetherAreTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{1,4}`), 0, 20, rapid.ID).Draw(t, "ids")
		prefix := rapid.StringMatching(`[ab]{0,2}`).Draw(t, "prefix")
		size := rapid.IntRange(1, 5).Draw(t, "size")
		keys := sortedKeys(ids)
		whole, _ := Keys(keys, prefix, "", len(keys)+1)

		var pages []schedule.Key
		for after, more := "", true; more; {
			var page []schedule.Key
			page, more = Keys(keys, prefix, after, size)
			pages = append(pages, page...)
			if len(page) > 0 {
				after = page[len(page)-1].ID
			}
		}
		assert.Equal(t, append([]schedule.Key{}, whole...), append([]schedule.Key{}, pages...))
	})
}

func TestPageToken(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "büro/1", "with space", "\xff"} {
		after, err := DecodePageToken(EncodePageToken(id))
		require.NoError(t, err)
		assert.Equal(t, id, after)
	}
	after, err := DecodePageToken("")
	require.NoError(t, err)
	assert.Empty(t, after)
	assert.LessOrEqual(t, len(EncodePageToken(string(make([]byte, schedule.MaxIDBytes)))), schedule.MaxPageTokenBytes)
}

func TestPageTokenRefused(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{
		"no base64":       "?",
		"no ID":           EncodePageToken(""),
		"another version": base64.RawURLEncoding.EncodeToString([]byte("\x02a")),
		"an ID":           "nightly",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodePageToken(token)
			var e *schedule.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, schedule.CodeInvalidArgument, e.Code)
			assert.Equal(t, "pageToken", e.Field)
		})
	}
}

func TestFitPage(t *testing.T) {
	t.Parallel()
	entries := [][]byte{[]byte("1234"), nil, []byte("1234")}
	assert.Equal(t, 3, Fit(entries, 11))
	assert.Equal(t, 2, Fit(entries, 10))
	assert.Equal(t, 0, Fit(entries, 4))
	assert.Equal(t, 0, Fit(nil, 4))
}

func sortedKeys(ids []string) []schedule.Key { return keysOf(slices.Sorted(slices.Values(ids))...) }
