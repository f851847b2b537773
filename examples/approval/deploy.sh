# The results of the steps needed stand in $RAMET_INPUT; the comment of whoever approved is one of them.
comment=$(sed -n 's/.*"comment":"\([^"]*\)".*/\1/p' "$RAMET_INPUT")
echo "deploying $RAMET_PARAM_VERSION${comment:+, because: $comment}"
echo "version=$RAMET_PARAM_VERSION" >>"$RAMET_RESULT"
