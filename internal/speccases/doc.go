// Package speccases reads test cases of specs: one JSON object a line, in the form of specproc/testdata/vectors. The form
// is neutral, so that cases can come from other schedulers: durations may begin with days, and lists may be longer and
// values wilder than a schedule accepts. Whether a spec is valid is not decided here.
//
// The package imports schedule and internal/apitext alone, so that the tests of specproc can use it too.
package speccases
