//go:build !race

package specproc

const raceDetector = false
