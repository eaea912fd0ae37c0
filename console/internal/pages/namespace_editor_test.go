package pages

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestEveryLimitHasAField: what has no field in the form would be lost when a namespace is saved.
func TestEveryLimitHasAField(t *testing.T) {
	t.Parallel()
	var names, want []string
	for _, field := range limitFields {
		names = append(names, field.Name)
	}
	for field := range reflect.TypeFor[schedule.NamespaceLimits]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		want = append(want, name)
	}
	assert.ElementsMatch(t, want, names)
}
