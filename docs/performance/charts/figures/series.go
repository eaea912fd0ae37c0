package figures

// The series: what is varied in each.
const (
	// SeriesSize restarts, and leaves alone, more and more schedules.
	SeriesSize = "size"
	// SeriesBeside puts more and more dormant schedules beside a steady load.
	SeriesBeside = "beside"
	// SeriesRate offers more and more.
	SeriesRate = "rate"
	// SeriesShards divides the same work into more and more shards, on the embedded server.
	SeriesShards = "shards"
	// SeriesNodes does it on one server, and on three that each keep everything.
	SeriesNodes = "nodes"
	// SeriesWorkflowShards runs workflows with one activity in more and more shards, on the embedded server.
	SeriesWorkflowShards = "workflow-shards"
	// SeriesWorkflowNodes does it on one server, and on three that each keep everything.
	SeriesWorkflowNodes = "workflow-nodes"
	// SeriesWorkflowHistory lets the history of one workflow become longer and longer.
	SeriesWorkflowHistory = "workflow-history"
	// SeriesWorkflowSleepers lets more and more workflows wait for a timer.
	SeriesWorkflowSleepers = "workflow-sleepers"
)

// Series returns the names of all series.
func Series() []string {
	return []string{
		SeriesSize, SeriesBeside, SeriesRate, SeriesShards, SeriesNodes,
		SeriesWorkflowShards, SeriesWorkflowNodes, SeriesWorkflowHistory, SeriesWorkflowSleepers,
	}
}
