// Package requests reads from metrics how many requests an operator sends, and what else an operator reports about its work.
package requests
