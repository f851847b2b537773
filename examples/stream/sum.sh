echo "$RAMET_PARAM_ERRORS errors in $RAMET_PARAM_LINES lines"
echo "text=$RAMET_PARAM_ERRORS errors in $RAMET_PARAM_LINES lines" >>"$RAMET_RESULT"
