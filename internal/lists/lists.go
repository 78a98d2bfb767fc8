// Package lists has what package slices lacks.
package lists

// Map returns the result of a function for each element of a list, in the list's order; nil for an empty list.
func Map[T, U any](list []T, of func(T) U) (results []U) {
	for _, element := range list {
		results = append(results, of(element))
	}
	return results
}
