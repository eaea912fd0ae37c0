package taskqueue

// Round lets tests look once, when they want.
var Round = (*Watcher).round
