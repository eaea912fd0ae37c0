package apitext

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Any schedule, valid or not, stays the same when printed and read again.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]struct {
		encode func(any) ([]byte, error)
		decode func([]byte, any) error
	}{
		"json":             {EncodeJSON, DecodeJSON},
		"yaml":             {EncodeYAML, DecodeYAML},
		"yaml in one line": {func(v any) ([]byte, error) { return encodeYAML(v, 0) }, DecodeYAML},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var want, got schedule.CreateRequest
				scheduletest.Fill(t, reflect.ValueOf(&want).Elem())
				text, err := form.encode(want)
				require.NoError(t, err)
				require.NoError(t, form.decode(text, &got), "%s", text)
				require.Equal(t, want, got, "%s", text)
			})
		})
	}
}

// Documents printed into one text and read again stay the same, whatever is between them.
func TestDocumentsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := make([]schedule.CreateRequest, rapid.IntRange(0, 4).Draw(t, "documents"))
		var text []byte
		for i := range want {
			scheduletest.Fill(t, reflect.ValueOf(&want[i]).Elem())
			document, err := EncodeYAML(want[i])
			require.NoError(t, err)
			between := rapid.SampledFrom([]string{"---\n", "--- # x\n", "---\r\n", "# x\n---\n", "---\n---\n", "...\n", "...\n%YAML 1.1\n---\n"}).Draw(t, "between")
			text = append(append(text, between...), document...)
		}
		got, err := DecodeYAMLDocuments[schedule.CreateRequest](text)
		require.NoError(t, err, "%s", text)
		require.Len(t, got, len(want), "%s", text)
		for i := range want {
			require.Equal(t, want[i], got[i], "%s", text)
		}
	})
}
