package frontend

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
)

// TestEveryEndpointSaysWhetherItReadsOrWrites: an endpoint whose handler was not made by reads or writes does not say it.
func TestEveryEndpointSaysWhetherItReadsOrWrites(t *testing.T) {
	t.Parallel()
	for name, e := range endpointsByName() {
		assert.Contains(t, []access{accessRead, accessWrite}, e.handle.access, name)
		assert.NotNil(t, e.handle.answer, name)
		if _, repeatable := e.handle.request.FieldByName("RequestID"); repeatable {
			assert.Equal(t, accessWrite, e.handle.access, "%s: a request that changes nothing needs no request ID", name)
		}
	}
}

// TestNoTwoEndpointsHaveOneName: the second one would never get a request.
func TestNoTwoEndpointsHaveOneName(t *testing.T) {
	t.Parallel()
	assert.Len(t, endpointsByName(), len(endpoints(&schedules.Service{})))
}
