package roster

// MaxWorkers is how many workers of a namespace are known.
const MaxWorkers = maxWorkers
