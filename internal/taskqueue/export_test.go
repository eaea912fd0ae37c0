package taskqueue

// Round lets tests trigger a single round.
var Round = (*Watcher).round
