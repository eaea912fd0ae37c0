package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func tableOf(v View, rows [][]string) string {
	var out strings.Builder
	_ = v.Table(&out, rows)
	return out.String()
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"ID", "WHEN", "STATE"}, {"report", "every 5 minutes but not on Sundays", "active"}, {"tick", "every 5s", "paused"}}
	assert.Equal(t, ""+
		"ID      WHEN                                STATE\n"+
		"report  every 5 minutes but not on Sundays  active\n"+
		"tick    every 5s                            paused\n", tableOf(View{}, rows), "a pipe gets all of it")
	assert.Equal(t, ""+
		"ID      WHEN            STATE\n"+
		"report  every 5 minut…  active\n"+
		"tick    every 5s        paused\n", tableOf(View{Width: 30}, rows))
	assert.Contains(t, tableOf(View{Width: 5}, rows), "every 5…", "some of it is left on the narrowest terminal")
}

func TestTablePaints(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"ID", "STATE", "NOTE"}, {"paused", "active", "failed"}, {"b", "paused", "x"}, {"c", "odd", ""}}
	assert.Equal(t, ""+
		"ID      STATE   NOTE\n"+
		"paused  "+Green.Paint("active")+"  failed\n"+
		"b       "+Yellow.Paint("paused")+"  x\n"+
		"c       odd\n", tableOf(View{Color: true}, rows), "only where a column says how something is")
}

// TestTableKeepsToItsWidth: a table keeps to the width of any terminal that is wide enough for its columns.
func TestTableKeepsToItsWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 6).Draw(t, "columns")
		cells := rapid.StringMatching(`[a-zäß… ]{0,40}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cells, columns, columns), 1, 5).Draw(t, "rows")
		width := rapid.IntRange(columns*(narrowColumn+2), 300).Draw(t, "width")
		for line := range strings.Lines(tableOf(View{Width: width}, rows)) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width)
		}
	})
}
