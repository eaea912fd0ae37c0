package kv

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSubjects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"total":2,"state":{"messages":3,"subjects":{"a.b":1,"a.c-_=2E":20},"num":7}}`: {"a.b", "a.c-_=2E"},
		`{"total":0,"state":{"subjects":{}}}`:                                           nil,
		`{"total":0,"state":{"subjects":null}}`:                                         nil,
		`{"state":{}}`:                                                                  nil,
		`{"total":2,"state":{"subjects":{"a\u003cb":1,"a\"c":2}}}`:                      {"a\"c", "a<b"},
		`{ "total" : 1, "state" : { "subjects" : { "a" : 1 } } , "b": 1}`:               {"a"},
	} {
		names, rest, err := parseSubjects([]byte(text))
		require.NoError(t, err, text)
		require.False(t, rest, text)
		slices.Sort(names)
		require.Equal(t, want, names, text)
	}
	names, rest, err := parseSubjects([]byte(`{"total":3,"limit":2,"state":{"subjects":{"a":1,"b":1}}}`))
	require.NoError(t, err)
	require.True(t, rest)
	require.Empty(t, names)
	for _, text := range []string{
		"", "nonsense", `{}`, `{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`,
		`{"state":{"subjects":[1]}}`, `{"state":{"subjects":{"a\\":"x"}}}`,
	} {
		_, _, err := parseSubjects([]byte(text))
		require.Error(t, err, text)
	}
}
