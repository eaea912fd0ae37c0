package schedule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestNewActionTypes: what is beyond a bound is left out, and that is said.
func TestNewActionTypes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, schedule.ActionTypes{Worker: "w", Types: []string{}}, schedule.NewActionTypes("w", nil), "a list also in JSON")
	var many, long []string
	for i := range schedule.MaxActionTypes + 1 {
		many = append(many, fmt.Sprintf("t%03d", i))
		long = append(long, fmt.Sprintf("t%03d", i)+strings.Repeat("x", 251))
	}
	all := many[:schedule.MaxActionTypes]
	assert.Equal(t, schedule.ActionTypes{Worker: "w", Types: all}, schedule.NewActionTypes("w", all))
	assert.Equal(t, schedule.ActionTypes{Worker: "w", Types: all, Others: true}, schedule.NewActionTypes("w", many))
	cut := schedule.NewActionTypes("w", long)
	assert.Equal(t, long[:schedule.MaxActionTypesBytes/255], cut.Types)
	assert.True(t, cut.Others)
}
