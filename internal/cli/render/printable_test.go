package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/apitext"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nightly":        "nightly",
		"größer 夜 😀\t":   "größer 夜 😀\t",
		"\x1b[2J\x7f":    `\u001b[2J\u007f`,
		"\u009b2J":       `\u009b2J`,
		"gpj.\u202eexe":  `gpj.\u202eexe`,
		"a\u200bb\ufeff": `a\u200bb\ufeff`,
		"a\nb":           `a\u000ab`,
		"\U000e0041":     `\udb40\udc41`,
		"\xff\x80":       "\ufffd",
		"\xff\u202e":     `�\u202e`,
	} {
		assert.Equal(t, want, Printable(text), "%q", text)
	}
}

// TestPrintableJSON: no invisible character remains, and a program reads the same as before.
func TestPrintableJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "value")
		text, err := apitext.EncodeJSON(value)
		require.NoError(t, err)
		shown := PrintableJSON(text)
		require.Negative(t, strings.IndexFunc(string(shown), func(r rune) bool { return !unicode.IsPrint(r) }), "%q", shown)
		var got map[string]string
		require.NoError(t, json.Unmarshal(shown, &got))
		require.Equal(t, value, got)
	})
}

// TestTablesHideNothing: whoever names a schedule cannot paint or clear the terminal of a person who lists it.
func TestTablesHideNothing(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"ID", "STATE"}, {"a\x1b[2J\u202e", "active"}, {Red.Paint("b\x1b[2J"), "paused"}}
	for _, write := range []func(*strings.Builder) error{
		func(out *strings.Builder) error { return Table(out, rows) },
		func(out *strings.Builder) error { return View{Width: 80}.Table(out, rows) },
	} {
		var out strings.Builder
		require.NoError(t, write(&out))
		assert.NotContains(t, out.String(), "\x1b[2J")
		assert.NotContains(t, out.String(), "\u202e")
		assert.Contains(t, out.String(), `a\u001b[2J\u202e`)
		assert.Contains(t, out.String(), Red.Paint(`b\u001b[2J`))
	}
}
