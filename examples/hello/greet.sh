# $RAMET_INPUT is a JSON file with the state and result of every job needed.
count=$(sed -n 's/.*"count":"\([0-9]*\)".*/\1/p' "$RAMET_INPUT")
largest=$(sed -n 's/.*"largest":"\([0-9]*\)".*/\1/p' "$RAMET_INPUT")

echo "hello from the shell"
echo "the Python job found $count primes, the largest is $largest"
echo "greeting=hello, $count primes" >>"$RAMET_RESULT"
