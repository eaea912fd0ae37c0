package schedules

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestEveryBulkOperationIsDone: users can start each operation of the list, and the service can carry it out.
func TestEveryBulkOperationIsDone(t *testing.T) {
	t.Parallel()
	assert.ElementsMatch(t, schedule.BulkOperations(), slices.Collect(maps.Keys((&Service{}).bulkOperations())))
}
