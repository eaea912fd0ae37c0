package subjects_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestEscapeIsReadable(t *testing.T) {
	t.Parallel()
	for text, token := range map[string]string{
		"nightly-report_2": "nightly-report_2",
		"a.b":              "a=2Eb",
		"a b":              "a=20b",
		"a=b":              "a=3Db",
		"*":                "=2A",
		">":                "=3E",
		"$JS":              "=24JS",
		"ü":                "=C3=BC",
		"\x00":             "=00",
	} {
		require.Equal(t, token, subjects.Escape(text))
	}
}

func TestUnescapeRefusesWhatEscapeDoesNotMake(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "=", "=2", "a=2", "=2e", "=41", "=5F", "=ZZ", "a.b", "a b", "ü", "*", ">"} {
		_, err := subjects.Unescape(token)
		require.Error(t, err, "%q", token)
	}
}

func TestEscapeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anyID().Draw(t, "text")
		token := subjects.Escape(text)
		requireToken(t, token)
		require.LessOrEqual(t, len(token), 3*len(text))
		back, err := subjects.Unescape(token)
		require.NoError(t, err)
		require.Equal(t, text, back)
	})
}

func TestEscapeIsUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyID().Draw(t, "a"), anyID().Draw(t, "b")
		require.Equal(t, a == b, subjects.Escape(a) == subjects.Escape(b))
	})
}

// FuzzUnescape: any accepted token is valid and is the only token of its text.
func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"plain", "a=2Eb", "=C3=BC", "=", "=2", "=41", "a.b", "", "\xff", strings.Repeat("=00", 255)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		text, err := subjects.Unescape(token)
		if err != nil {
			return
		}
		require.Equal(t, token, subjects.Escape(text))
		requireToken(t, token)
	})
}

// requireToken checks that text can be one token of a subject, of a KV key and of a consumer name.
func requireToken(t require.TestingT, text string) {
	require.Regexp(t, `^[-_=a-zA-Z0-9]+$`, text)
}

// anyID generates all kinds of IDs: 1 to 255 bytes of UTF-8, often with awkward characters.
func anyID() *rapid.Generator[string] {
	awkward := rapid.SampledFrom([]string{
		".", "..", "*", ">", " ", "=", "=2E", "/", "\\", "\x00", "\x7f", "\t", "\r\n", "$SYS", "🔔", "é", "日本", "-", "_", "a", "Z", "0",
	})
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(awkward, rapid.StringN(1, 12, 48)), 1, 12).Draw(t, "parts")
		text := strings.Join(parts, "")
		for len(text) > 255 || !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text[:min(len(text), 255)], "")
		}
		return text
	})
}
