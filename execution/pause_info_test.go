package execution

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// TestPauseInfo: the value is stable and bounded, and replaces the one before it.
func TestPauseInfo(t *testing.T) {
	t.Parallel()
	run := newRun("r")
	for i := range int64(300) {
		run.Activities[i] = Activity{
			Attributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityType: &commonpb.ActivityType{Name: fmt.Sprintf("type %03d", 200-i%150)},
			},
			ActivityRecord: ActivityRecord{Pause: Pause{Since: noon}},
		}
	}
	types := run.pausedTypes()
	require.Len(t, types, maxPausedTypes)
	assert.Equal(t, []string{"type 051", "type 052"}, types[:2])
	assert.IsIncreasing(t, types)

	own := map[string]*commonpb.Payload{"City": {Data: []byte(`"Bern"`)}}
	with := WithPauseInfo(own, &PauseInfo{Types: types[:2]})
	assert.Len(t, own, 1)
	assert.Equal(t, "KeywordList", string(with[pauseInfo].Metadata["type"]))
	var values []string
	require.NoError(t, json.Unmarshal(with[pauseInfo].Data, &values))
	assert.Equal(t, []string{"property:activityType=type 051", "property:activityType=type 052"}, values)
	assert.Equal(t, with, WithPauseInfo(with, nil), "nothing has changed")
	assert.Equal(t, own, WithPauseInfo(with, &PauseInfo{}), "nothing is paused")
}
