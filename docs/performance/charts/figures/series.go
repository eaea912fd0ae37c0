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
)

// Series returns the names of all series.
func Series() []string {
	return []string{SeriesSize, SeriesBeside, SeriesRate, SeriesShards, SeriesNodes}
}
